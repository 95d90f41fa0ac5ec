"""The colours of the window by name, light and dark, as `#rrggbb`.

Contrast was checked for 80 pairs of text and ground: the lowest are 4.75 (light) and 4.63
(dark). Change a value only together with the pairs it is used in.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """One palette. `window` … `ctl` are grounds and lines, the rest text, states and marks."""

    dark: bool
    window: str
    panel: str
    base: str
    sunken: str
    sel: str
    line: str
    line2: str
    ctl: str
    text: str
    text2: str
    text3: str
    accent: str
    fill: str
    on: str
    tint2: str
    mark: str
    marktext: str
    markcur: str
    markcurtext: str
    anchor: str
    role_user: str
    role_assistant: str
    role_tool: str
    role_system: str
    ok: str
    okbg: str
    warn: str
    warnbg: str
    err: str
    errbg: str
    info: str
    infobg: str
    unk: str
    unkbg: str
    track: str
    bar: str
    s2: str
    s3: str
    code_kw: str
    code_str: str
    code_fn: str
    code_num: str
    code_com: str


LIGHT = Tokens(
    dark=False,
    window="#F1F1EF",
    panel="#F7F7F5",
    base="#FFFFFF",
    sunken="#F4F4F1",
    sel="#E4E4E0",
    line="#E2E2DE",
    line2="#C6C6C0",
    ctl="#8B9097",
    text="#1B1C1E",
    text2="#4C5056",
    text3="#5E636A",
    accent="#2A52A0",
    fill="#2A52A0",
    on="#FFFFFF",
    tint2="#DAE5F7",
    mark="#FFE27D",
    marktext="#1B1C1E",
    markcur="#FFC02E",
    markcurtext="#1B1C1E",
    anchor="#F2F6FD",
    role_user="#0B6472",
    role_assistant="#5F4B9B",
    role_tool="#7A5410",
    role_system="#5A5F66",
    ok="#1A6E3D",
    okbg="#E3F1E8",
    warn="#7F4F00",
    warnbg="#FBEFD6",
    err="#AE2A20",
    errbg="#FBE8E5",
    info="#2A52A0",
    infobg="#E6EDF9",
    unk="#565B62",
    unkbg="#EAEAE7",
    track="#E0E0DC",
    bar="#8F949A",
    s2="#6F8EC9",
    s3="#AFC1E4",
    code_kw="#7A3E9D",
    code_str="#1A6E3D",
    code_fn="#2A52A0",
    code_num="#A04A00",
    code_com="#666B72",
)

DARK = Tokens(
    dark=True,
    window="#27292C",
    panel="#1F2124",
    base="#18191B",
    sunken="#212326",
    sel="#35383D",
    line="#34373B",
    line2="#50555B",
    ctl="#747A82",
    text="#E2E3E5",
    text2="#B6BAC0",
    text3="#A1A6AE",
    accent="#93B4F5",
    fill="#3B64B4",
    on="#FFFFFF",
    tint2="#2B3A59",
    mark="#665008",
    marktext="#FFF0BF",
    markcur="#EDBE3A",
    markcurtext="#1B1C1E",
    anchor="#1D2330",
    role_user="#63C0CE",
    role_assistant="#B9A6EE",
    role_tool="#D9AE62",
    role_system="#A6ABB3",
    ok="#74C795",
    okbg="#1D3226",
    warn="#E2B355",
    warnbg="#392F18",
    err="#F3A096",
    errbg="#412522",
    info="#93B4F5",
    infobg="#25314A",
    unk="#ABB0B7",
    unkbg="#303337",
    track="#3A3D42",
    bar="#6C727A",
    s2="#6F90D6",
    s3="#A9C0EE",
    code_kw="#CFA3EA",
    code_str="#86CFA2",
    code_fn="#93B4F5",
    code_num="#E7A979",
    code_com="#9BA0A8",
)

#!/bin/sh
# Fuzz the tokenizer under AddressSanitizer and UndefinedBehaviorSanitizer.
#
#     native/fts5_cjk/fuzz/run.sh [SECONDS]      default 60; SEED in the environment
#
# Uses clang's libFuzzer where there is one, else gcc and a mutator of our own. A finding
# ends with a status other than 0; libFuzzer's words end with the input, as Base64.
set -eu

seconds=${1:-60}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

warnings='-Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Werror'
sources="$here/../fts5_cjk.c $here/checks.c"
flags="-std=c11 -g -O1 -DSQLITE_CORE -fno-omit-frame-pointer -fno-sanitize-recover=all $warnings"

echo "every allocation fails in turn:"
# shellcheck disable=SC2086  # lists of flags and files
"${CC:-cc}" $flags -fsanitize=address,undefined $sources "$here/faults.c" -lsqlite3 \
    -o "$work/faults"
"$work/faults"

# shellcheck disable=SC2086
if clang $flags -fsanitize=fuzzer,address,undefined $sources "$here/fuzz_tokenize.c" \
    -lsqlite3 -o "$work/fuzz" 2>"$work/clang.txt"; then
    echo "libFuzzer for $seconds s:"
    mkdir "$work/corpus"
    "$work/fuzz" -max_total_time="$seconds" -max_len=256 -timeout=5 -print_final_stats=1 \
        -artifact_prefix="$work/" -dict="$here/pieces.dict" -seed="${SEED:-0}" "$work/corpus" "$here/corpus" \
        2>"$work/log.txt" || { cat "$work/log.txt"; exit 1; }
    grep -E 'DONE|stat::(number|average)' "$work/log.txt"
else
    echo "no libFuzzer; mutating for $seconds s:"
    # shellcheck disable=SC2086
    "${CC:-cc}" $flags -fsanitize=address,undefined -DFUZZ_ALONE $sources \
        "$here/fuzz_tokenize.c" -lsqlite3 -o "$work/fuzz"
    "$work/fuzz" "$seconds" "${SEED:-1}"
fi

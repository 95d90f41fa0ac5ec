#!/bin/sh
# Fuzz the tokenizer under AddressSanitizer and UndefinedBehaviorSanitizer.
#
#     native/fts5_cjk/fuzz/run.sh [SECONDS]      default 60; SEED in the environment
#
# A third of the time is libFuzzer's, where clang has one: it looks for new paths. The rest is a
# mutator's of our own, which is some ten times faster. A finding ends with a status other than 0:
# libFuzzer's words end with the input, as Base64; the mutator repeats itself with its SEED.
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

part=$((seconds / 3 > 0 ? seconds / 3 : 1))
# shellcheck disable=SC2086
if clang $flags -fsanitize=fuzzer,address,undefined $sources "$here/fuzz_tokenize.c" \
    -lsqlite3 -o "$work/fuzz" 2>"$work/clang.txt"; then
    echo "libFuzzer for $part s:"
    mkdir "$work/corpus"
    "$work/fuzz" -max_total_time="$part" -max_len=256 -timeout=5 -print_final_stats=1 \
        -artifact_prefix="$work/" -dict="$here/pieces.dict" -seed="${SEED:-0}" \
        "$work/corpus" "$here/corpus" 2>"$work/log.txt" || { cat "$work/log.txt"; exit 1; }
    grep DONE "$work/log.txt"
    seconds=$((seconds - part))
fi

seed=${SEED:-$(date +%s)}
echo "mutating for $seconds s, SEED=$seed:"
# shellcheck disable=SC2086
"${CC:-cc}" $flags -O2 -fsanitize=address,undefined -DFUZZ_ALONE $sources \
    "$here/fuzz_tokenize.c" -lsqlite3 -o "$work/mutate"
"$work/mutate" "$seconds" "$seed"

#!/bin/sh
# The compiler of this workspace's own crates, and of none that they depend on, when fuzz targets are built: their code tells libFuzzer
# which of it an input reached (on stable Rust, so without sanitizers), and is fast. What they depend on is then what tests are built of.
case " $* " in
*" --crate-name build_script_"* | *" --crate-type proc-macro "*) exec "$@" ;;
esac
exec "$@" --cfg fuzzing -Copt-level=3 -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks \
	-Cpasses=sancov-module \
	-Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares

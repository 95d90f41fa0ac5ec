"""The `backscroll` command, also `python -m app`: a command, or the window without one."""

import sys
from collections.abc import Sequence

from app.cli.arguments import DONE, FAILED, parse
from app.cli.output import Output, standard
from core.errors import CoreError

_INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (CLI.md): 0, 1, 2, 3, or 130 after Ctrl+C."""
    output = standard(as_json=False, quiet=False)
    try:
        args = parse(sys.argv[1:] if arguments is None else arguments)
        output = standard(as_json=args.json, quiet=args.quiet)
        if args.run is None:
            return _open_window(args.data_dir, args.profile)
        code: int = args.run(args, output)
        output.out.flush()
    except CoreError as error:
        return _fail(error, output)
    except BrokenPipeError:
        # The reader of our output went away (`| head`); nothing is left to be said to it.
        sys.stdout = None
        return DONE
    except KeyboardInterrupt:
        output.progress_done()
        output.note("stopped; what was done so far is kept")
        return _INTERRUPTED
    return code


def _fail(error: CoreError, output: Output) -> int:
    if output.as_json:
        output.document({"error": {"code": error.code, "message": str(error)}})
    else:
        output.err.write(f"{error.code}: ")
        Output(False, False, output.err, output.err).line(str(error))
    return FAILED


def _open_window(data_dir: object, profile: str | None) -> int:
    from app.qt_guard import check_display, check_qt

    check_qt()
    check_display()
    from app.main import run

    return run(data_dir, profile)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m samp` is the command `samp`."""

from samp.cli import main

if __name__ == "__main__":
    main(prog_name="samp")

"""`python -m tests.fakes.tjb`: the command of this checkout, wherever it is started."""

from tjbench.cli.main import main

if __name__ == "__main__":
    main()

"""Where the command line begins: Ctrl-C is taken in hand before anything else is imported."""

from autograder import interrupts


def main() -> None:
    """Run `autograder`."""
    interrupts.listen()
    from autograder.cli.main import main as command

    command()


if __name__ == "__main__":
    main()

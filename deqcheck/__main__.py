"""`python -m deqcheck`."""

from deqcheck.cli.main import main

if __name__ == "__main__":
    main()

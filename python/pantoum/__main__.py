"""`python -m pantoum` is the program `pantoum`."""

from pantoum._program import main

if __name__ == "__main__":
    main()

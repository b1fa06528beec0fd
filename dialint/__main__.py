"""``python -m dialint``, the same as the command ``dialint``."""

from dialint.app.cli import main

if __name__ == "__main__":
    main()

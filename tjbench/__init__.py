"""TokenJam Bench: does the cheaper model that TokenJam recommends still get the work right?"""

__version__ = "1.0.0"

"""What runs inside the box: the warm process, the confinement, the answer's side and the tests' side.

Only the standard library is imported here: these modules run in an interpreter without site-packages.
"""

"""Fills the disk."""


# ends: exception
def double(x):
    with open("/tmp/tjbench-hostile", "wb") as file:
        while True:
            file.write(bytes(1 << 20))

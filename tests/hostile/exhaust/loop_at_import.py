"""Never becomes ready."""

# ends: timeout
while True:
    pass

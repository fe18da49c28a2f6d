"""Runs bytecode that the interpreter does not survive."""


# ends: crashed, exception, timeout, assertion
def double(x):
    code = double.__code__.replace(co_code=bytes([100, 255] * 8), co_consts=(), co_stacksize=1)
    return type(double)(code, {})(x)

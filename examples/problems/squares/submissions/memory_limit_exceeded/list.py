keep = []
while True:
    keep.append("x" * (1 << 20))

n = 1
while True:
    print(n, flush=True)
    if input() == "right":
        break
    n += 1

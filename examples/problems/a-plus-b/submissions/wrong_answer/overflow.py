a, b = map(int, input().split())
print((a + b + 2**30) % 2**31 - 2**30)

n, s = map(int, input().split())
v = list(map(int, input().split()))
for i, x in enumerate(v, 1):
    if 2 * x == s:
        print(i, i)
        break
else:
    print(1, 2)

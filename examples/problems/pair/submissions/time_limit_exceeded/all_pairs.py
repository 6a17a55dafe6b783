n, s = map(int, input().split())
v = list(map(int, input().split()))
for i in range(n):
    for j in range(i + 1, n):
        if v[i] + v[j] == s:
            print(i + 1, j + 1)
            raise SystemExit

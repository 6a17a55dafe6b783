n, s = map(int, input().split())
seen = {}
for i, x in enumerate(map(int, input().split()), 1):
    if s - x in seen:
        print(seen[s - x])
        print(i)
        break
    seen[x] = i

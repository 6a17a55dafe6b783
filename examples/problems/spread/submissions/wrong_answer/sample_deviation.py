import math
n = int(input())
v = list(map(float, input().split()))
mean = sum(v) / n
print(mean, math.sqrt(sum((x - mean) ** 2 for x in v) / max(1, n - 1)))

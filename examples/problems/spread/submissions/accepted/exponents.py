import math
n = int(input())
v = list(map(float, input().split()))
mean = math.fsum(v) / n
print("%.12e" % mean, "%.12E" % math.sqrt(math.fsum((x - mean) ** 2 for x in v) / n))

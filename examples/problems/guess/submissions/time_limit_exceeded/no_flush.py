import sys

sys.stdout.write("500\n")  # stays in the buffer: both sides wait
sys.stdin.readline()

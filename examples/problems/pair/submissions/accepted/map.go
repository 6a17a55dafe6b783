package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	var n, s int
	fmt.Fscan(in, &n, &s)
	seen := map[int]int{}
	for i := 1; i <= n; i++ {
		var x int
		fmt.Fscan(in, &x)
		if j, ok := seen[s-x]; ok {
			fmt.Println(j, i)
			return
		}
		seen[x] = i
	}
}

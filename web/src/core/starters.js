// starters.js - a first program in each language: reads two numbers, prints their sum.

const STARTERS = {
  c: `#include <stdio.h>

int main(void)
{
    long long a, b;

    scanf("%lld %lld", &a, &b);
    printf("%lld\\n", a + b);
    return 0;
}
`,
  cpp: `#include <bits/stdc++.h>
using namespace std;

int main()
{
    long long a, b;
    cin >> a >> b;
    cout << a + b << '\\n';
}
`,
  python: `a, b = map(int, input().split())
print(a + b)
`,
  java: `import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.println(in.nextLong() + in.nextLong());
    }
}
`,
  go: `package main

import "fmt"

func main() {
	var a, b int64
	fmt.Scan(&a, &b)
	fmt.Println(a + b)
}
`,
  rust: `use std::io::{self, Read};

fn main() {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).unwrap();
    let sum: i64 = text.split_whitespace().map(|x| x.parse::<i64>().unwrap()).sum();
    println!("{}", sum);
}
`,
  javascript: `const text = require("fs").readFileSync(0, "utf8");
const [a, b] = text.trim().split(/\\s+/).map(BigInt);
console.log(String(a + b));
`,
  pascal: `program sum;
var a, b: int64;
begin
  readln(a, b);
  writeln(a + b);
end.
`,
};

/* "cpp17" → "cpp": which starter and which grammar a slug takes. */
export function kindOf(slug = "") {
  if (/^(cpp|c\+\+|g\+\+|cc)/.test(slug)) return "cpp";
  if (/^c\d*$/.test(slug)) return "c";
  if (/^(javascript|js|node)/.test(slug)) return "javascript";
  if (/^py/.test(slug)) return "python";
  return ["java", "go", "rust", "pascal"].find((one) => slug.startsWith(one)) ?? "";
}

export const starter = (slug) => STARTERS[kindOf(slug)] ?? "";

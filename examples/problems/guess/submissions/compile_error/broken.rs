fn main() { let ; }

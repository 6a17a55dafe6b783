print("unclosed

begin
  writeln(undeclared)
end.

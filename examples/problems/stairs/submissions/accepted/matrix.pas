const
  M = 1000000007;
type
  matrix = array[0..3] of int64;
var
  n: int64;
  r, b: matrix;

function times(const x, y: matrix): matrix;
var
  z: matrix;
begin
  z[0] := (x[0] * y[0] + x[1] * y[2]) mod M;
  z[1] := (x[0] * y[1] + x[1] * y[3]) mod M;
  z[2] := (x[2] * y[0] + x[3] * y[2]) mod M;
  z[3] := (x[2] * y[1] + x[3] * y[3]) mod M;
  times := z;
end;

begin
  read(n);
  r[0] := 1; r[1] := 0; r[2] := 0; r[3] := 1;
  b[0] := 1; b[1] := 1; b[2] := 1; b[3] := 0;
  while n > 0 do
  begin
    if odd(n) then
      r := times(r, b);
    b := times(b, b);
    n := n div 2;
  end;
  writeln(r[0]);
end.

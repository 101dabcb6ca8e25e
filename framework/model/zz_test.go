package model
import ("testing";"time";"os")
func TestZZ(t *testing.T){
 for _, r := range []string{"", "/work/shared/models/rxnfp-bert"} { for range 3 {
 s:=time.Now(); m,err:=Open(r); if err!=nil{t.Fatal(err)}; t.Log(time.Since(s), m.Name, m.V, m.MaskID, m.MaxLength) 
 } }
 os.Stdout.Sync()
}
func BenchmarkOpen(b *testing.B){ for b.Loop(){ if _,err:=Open(""); err!=nil{b.Fatal(err)}}}

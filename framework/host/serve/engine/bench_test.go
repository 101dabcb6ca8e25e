package engine_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host"
)

// BenchmarkClients is a request of one short molecule by each of so many clients, who ask again when they have their answer.
func BenchmarkClients(b *testing.B) {
	for _, batching := range []bool{true, false} {
		for _, clients := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("batching=%t/clients=%d", batching, clients), func(b *testing.B) {
				e := served(b, host.Options{}, "serve.batching", fmt.Sprint(batching))
				var seed uint64
				var mu sync.Mutex
				next := func() (uint64, bool) {
					mu.Lock()
					defer mu.Unlock()
					seed++
					return seed, seed <= uint64(b.N)
				}
				b.ReportAllocs()
				b.ResetTimer()
				var group sync.WaitGroup
				for range clients {
					group.Go(func() {
						for seed, ok := next(); ok; seed, ok = next() {
							a, err := e.Ask(b.Context(), text(1, seed, "length", "10"))
							if err != nil {
								b.Error(err)
								return
							}
							if _, err := ends(b.Context(), a); err != nil {
								b.Error(err)
							}
						}
					})
				}
				group.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
}

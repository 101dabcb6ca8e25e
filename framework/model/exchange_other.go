//go:build !linux

package model

func exchange(a, b string) error { return exchangeByTurns(a, b) }

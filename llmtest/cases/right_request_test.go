package cases_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// checkRequestHas wants a text in a request of the provider: in its address, its headers or its body.
func checkRequestHas(o *observation, raw json.RawMessage) error {
	all, err := perProvider[words](o, raw)
	if err != nil {
		return err
	}
	for name, texts := range all {
		for _, text := range texts {
			if !slices.ContainsFunc(o.requests[name], func(q *request) bool { return q.has(text) }) {
				return fmt.Errorf("no request to %s has %s", name, text)
			}
		}
	}
	return nil
}

func (q *request) has(text string) bool {
	if strings.Contains(q.escaped+"?"+q.query+"\n"+q.path, text) || strings.Contains(string(q.raw), text) || has(q.body, text) {
		return true
	}
	for name, values := range q.header {
		if strings.EqualFold(name, text) || slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, text) }) ||
			strings.Contains(strings.ToLower(name)+": "+strings.Join(values, ","), strings.ToLower(text)) {
			return true
		}
	}
	return false
}

func checkRequests(fits func(got, want int) bool) check {
	return func(o *observation, raw json.RawMessage) error {
		all, err := perProvider[int](o, raw)
		for name, w := range all {
			if got := len(o.requests[name]); !fits(got, w) {
				return fmt.Errorf("%s got %d", name, got)
			}
		}
		return err
	}
}

func checkTotal(o *observation, raw json.RawMessage) error {
	n := 0
	for _, requests := range o.requests {
		n += len(requests)
	}
	return same(n, raw)
}

func checkAfterOpen(o *observation, raw json.RawMessage) error {
	all, err := perProvider[int](o, raw)
	for name, w := range all {
		at, opened := o.opened[name]
		switch got := len(o.requests[name]) - at.requests; {
		case !opened:
			return fmt.Errorf("the breaker of %s never opened", name)
		case got != w:
			return fmt.Errorf("%s got %d", name, got)
		}
	}
	return err
}

func checkAfterCooldown(o *observation, raw json.RawMessage) error {
	all, err := perProvider[int](o, raw)
	for name, w := range all {
		if got := len(o.requests[name]) - o.cooled[name]; got != w {
			return fmt.Errorf("%s got %d", name, got)
		}
	}
	return err
}

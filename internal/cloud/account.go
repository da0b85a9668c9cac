package cloud

import (
	"sync"
	"sync/atomic"
	"time"
)

// Account is what every simulated cloud keeps: what it answers with, what it was asked, and its port if it has one.
type Account struct {
	Script *Script
	Next   func(Request) Turn // if set, gives the turns instead of Script
	Log    *Log
	IDs    atomic.Int64 // the last one given away

	listen *Server
	closed sync.Once
}

// NewAccount returns an Account whose clock starts now, if log has no epoch.
func NewAccount(turns []Turn, next func(Request) Turn, log *Log) *Account {
	if log.Epoch.IsZero() {
		log.Epoch = time.Now()
	}
	return &Account{Script: NewScript(turns...), Next: next, Log: log}
}

// Own takes a server that is to be closed with the account, and returns its URL.
func (a *Account) Own(s *Server) string {
	a.listen = s
	return s.URL
}

// Close ends every connection of its own server, and waits for all that is being answered. It may be called more than once.
func (a *Account) Close() {
	a.closed.Do(func() {
		if a.listen != nil {
			a.listen.Close()
		}
	})
	a.Log.Drain()
}

// Turn is the turn of a request, and the fault that bends it: the client's, or else its own. The error says what is wrong
// with the fault.
func (a *Account) Turn(x *Exchange) (Turn, Fault, error) {
	var turn Turn
	if a.Next != nil {
		turn = a.Next(x.Request())
	} else {
		turn = a.Script.Next()
	}
	text := turn.Fault
	if ordered := x.R.Header.Get(FaultHeader); ordered != "" {
		text = ordered
	}
	fault, err := ParseFault(text)
	if err == nil && turn.Reply != nil {
		err = fault.Suits(turn.Reply)
	}
	return turn, fault, err
}

// Package policysim plays the policy layer against models of providers in virtual time: how one deadline is
// split, what a storm of clients comes to, and what a brown-out does. Its tests print tables in the form of
// docs/policy-figures.md. Nobody imports it.
package policysim

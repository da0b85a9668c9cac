// Package layering holds the layers of this module as data and checks them.
//
// [Table] has one [Row] for each package, or family of packages, of the module:
// its layer, and what its files may import. [Check] walks a tree of source files
// and answers with every import that the table does not give. The rules are:
//
//   - Arrows point down only: a package imports packages of lower layers, never
//     one of its own layer or of a higher one.
//   - What lies lower still has to be listed. A row's third-party packages are
//     listed too, so a vendor's SDK cannot leak into a package that has no use
//     for it.
//   - Test files count, since what a test imports reaches the go.sum of users.
//     They may import what their package may, and helpers for tests.
//   - Nothing under the root imports a nested module (examples, bench, tools).
//   - A package without a row is a fault: whoever adds one says where it lies.
//
// A second, smaller check lives here for want of a linter that can do it:
// [Sleeps] finds tests that wait by the wall clock.
package layering

// Package api is the REST API. One table (routes.go) says for each route what it
// is for, who may use it, what it takes and what it answers; the router, the
// check of rights, the OpenAPI document and the tests all come from it.
//
// A request's way: request id and recovery → credential and rights (access) →
// strict decoding → a handler, one file per resource → the store or the dispatch
// loop → a document of package rest, or problem+json.
//
// Handlers decide nothing about scheduling, and whose objects they may show is a
// filter in the store's query: another owner's object is not_found.
package api

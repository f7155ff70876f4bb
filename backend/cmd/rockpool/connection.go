package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"rockpool/backend/internal/client"
)

const defaultServer = "http://127.0.0.1:8700"

// connection says which server to ask, and where the token for it is. A token
// never stands on a command line, where every user of the machine could read it.
type connection struct {
	Server         string `env:"ROCKPOOL_SERVER" placeholder:"URL" help:"Base URL of the server (default ${server})."`
	TokenFile      string `placeholder:"FILE" help:"File with the API token; otherwise $$ROCKPOOL_TOKEN, otherwise the credentials that admin setup wrote ($$ROCKPOOL_CREDENTIALS, or ~/.config/rockpool/credentials)."`
	AllowPlainHTTP bool   `name:"allow-plain-http" help:"Send secrets over plain http to another machine."`
}

// dial makes a client with the token of that server.
func (c connection) dial() (*client.Client, error) {
	anonymous, err := c.anonymous("")
	if err != nil {
		return nil, err
	}
	token, err := c.token(anonymous.Server())
	if err != nil {
		return nil, err
	}
	return client.New(c.options(anonymous.Server(), token))
}

// anonymous makes a client without a token. base is the server when no flag or
// variable names one; empty: the default.
func (c connection) anonymous(base string) (*client.Client, error) {
	if c.Server != "" {
		base = c.Server
	} else if base == "" {
		base = defaultServer
	}
	return client.New(c.options(base, ""))
}

func (c connection) options(server, token string) client.Options {
	return client.Options{
		Server: server, Token: token, AllowPlainHTTP: c.AllowPlainHTTP, UserAgent: "rockpool/" + thisVersion().Version,
	}
}

// token finds the token: file, variable, credentials of that very server.
func (c connection) token(server string) (string, error) {
	if c.TokenFile != "" {
		text, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return "", fmt.Errorf("read the token: %w", err)
		}
		return oneWord(string(text), c.TokenFile)
	}
	if token := os.Getenv("ROCKPOOL_TOKEN"); token != "" {
		return oneWord(token, "ROCKPOOL_TOKEN")
	}
	kept, err := readCredentials()
	if err != nil {
		return "", err
	}
	if token := kept.Servers[server].Token; token != "" {
		return token, nil
	}
	return "", fmt.Errorf("no API token for %s: set ROCKPOOL_TOKEN or --token-file, or run rockpool admin setup", server)
}

// oneWord is the token in text, which a header can carry.
func oneWord(text, from string) (string, error) {
	words := strings.Fields(text)
	if len(words) != 1 || clean(words[0]) != words[0] {
		return "", errors.New(from + " must hold one API token and nothing else")
	}
	return words[0], nil
}

package openinference

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// TLS are files and a name for grpcs:// and https:// endpoints.
type TLS struct {
	CA   string // certificates that servers are checked with; "" is the system's
	Cert string // this client's own certificate, for servers that ask for one
	Key  string // its key
	Name string // that servers' certificates must have; "" is that of the address
}

// security is what every connection takes along.
type security struct {
	tls     *tls.Config
	headers http.Header
}

// secure reads the files of o.TLS and the environment that o.Headers names.
func secure(o *Options) (*security, error) {
	s := &security{tls: &tls.Config{ServerName: o.TLS.Name, MinVersion: tls.VersionTLS12}, headers: http.Header{}}
	if o.TLS != (TLS{}) && !anyPrefix(o.Endpoints, "grpcs://", "https://") {
		return nil, fmt.Errorf("runtime openinference: certificates are given, and no endpoint is grpcs:// or https://; change the endpoints, or leave runtime.tls_* out")
	}
	if o.TLS.CA != "" {
		pem, err := os.ReadFile(o.TLS.CA)
		if err != nil {
			return nil, fmt.Errorf("runtime.tls_ca: %w", err)
		}
		if s.tls.RootCAs = x509.NewCertPool(); !s.tls.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("runtime.tls_ca: %s holds no certificate; expected PEM", o.TLS.CA)
		}
	}
	switch {
	case (o.TLS.Cert == "") != (o.TLS.Key == ""):
		return nil, fmt.Errorf("runtime.tls_cert and runtime.tls_key: one is given and the other not; a certificate needs its key")
	case o.TLS.Cert != "":
		own, err := tls.LoadX509KeyPair(o.TLS.Cert, o.TLS.Key)
		if err != nil {
			return nil, fmt.Errorf("runtime.tls_cert: %s with key %s: %w", o.TLS.Cert, o.TLS.Key, err)
		}
		s.tls.Certificates = []tls.Certificate{own}
	}
	for name, value := range o.Headers {
		if variable, ok := strings.CutPrefix(value, "$"); ok {
			found, is := os.LookupEnv(variable)
			if !is {
				return nil, fmt.Errorf("runtime.headers.%s: the environment has no %s; set it, or write the value itself", name, variable)
			}
			value = found
		}
		if lower := strings.ToLower(name); !httpguts.ValidHeaderFieldName(name) || strings.HasPrefix(lower, "grpc-") || strings.HasSuffix(lower, "-bin") {
			return nil, fmt.Errorf("runtime.headers.%s: no name of a header that may be sent; use letters, digits and -, not grpc-... nor ...-bin", name)
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("runtime.headers.%s: its value has characters that no header may have, such as an end of line; correct it", name)
		}
		s.headers.Set(name, value)
	}
	return s, nil
}

func anyPrefix(in []string, prefixes ...string) bool {
	for _, s := range in {
		for _, p := range prefixes {
			if strings.HasPrefix(s, p) {
				return true
			}
		}
	}
	return false
}

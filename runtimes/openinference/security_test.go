package openinference

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// certificate writes a certificate for a name that signs itself, with its key, and returns the files and the pair.
func certificate(t *testing.T, name string) (cert, key string, pair tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(file, kind string, der []byte) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert, key = write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
	if pair, err = tls.LoadX509KeyPair(cert, key); err != nil {
		t.Fatal(err)
	}
	return cert, key, pair
}

// TestTLS: both ways check the server by the given certificates and name, and show this client's certificate; what is missing is named.
func TestTLS(t *testing.T) {
	ca, _, server := certificate(t, "inference.test")
	own, key, _ := certificate(t, "client.test")
	pool := x509.NewCertPool()
	text, err := os.ReadFile(own)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	config := func() *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	}
	f := servedHead(v, plain.Suppress...)
	h := httptest.NewUnstartedServer(f)
	h.TLS = config()
	h.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of the handshakes that fail here
	h.StartTLS()
	t.Cleanup(h.Close)
	for way, address := range map[string]string{"grpc": "grpcs://" + f.serveGRPC(t, grpc.Creds(credentials.NewTLS(config()))), "http": h.URL} {
		good := TLS{CA: ca, Cert: own, Key: key, Name: "inference.test"}
		d := open(t, plain, Options{Endpoints: []string{address}, TLS: good}, usual)
		batchOf(t, d, 2, 4)
		if _, err := d.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		for what, o := range map[string]TLS{"unknown authority": {Cert: own, Key: key, Name: "inference.test"}, "other.test": {CA: ca, Cert: own, Key: key, Name: "other.test"}} {
			if _, err := Open(t.Context(), plain, Options{Endpoints: []string{address}, TLS: o}); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "runtime.tls_ca") {
				t.Errorf("%s: error %v, expected %q and runtime.tls_ca", way, err, what)
			}
		}
		// Without a certificate the server's words may be lost with the connection.
		if _, err := Open(t.Context(), plain, Options{Endpoints: []string{address}, TLS: TLS{CA: ca, Name: "inference.test"}}); err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: error %v, expected that the server refuses", way, err)
		}
	}
	for want, o := range map[string]TLS{"one is given and the other not": {Cert: own}, "no such file": {CA: ca + ".none"}, "holds no certificate": {CA: key}, "runtime.tls_cert: ": {Cert: own, Key: ca}} {
		if _, err := Open(t.Context(), plain, Options{Endpoints: []string{"grpcs://localhost:1"}, TLS: o}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	if _, err := Open(t.Context(), plain, Options{Endpoints: []string{"grpc://localhost:1"}, TLS: TLS{CA: ca}}); err == nil || !strings.Contains(err.Error(), "no endpoint is grpcs:// or https://") {
		t.Errorf("error %v, expected that certificates have no use", err)
	}
}

// TestHeaders: every request has the headers, those of the environment too; a server that refuses without them says how to give them.
func TestHeaders(t *testing.T) {
	t.Setenv("OPENINFERENCE_TEST_TOKEN", "Bearer secret")
	guard := func(get func(string) string) error {
		if get("Authorization") != "Bearer secret" || get("X-Team") != "chemistry" {
			return errors.New("who are you?")
		}
		return nil
	}
	f := servedHead(v, plain.Suppress...)
	f.header = guard
	intercept := grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		if err := guard(func(name string) string { return strings.Join(md.Get(name), ",") }); err != nil {
			return nil, status.Error(codes.Unauthenticated, err.Error())
		}
		return next(ctx, r)
	})
	headers := map[string]string{"Authorization": "$OPENINFERENCE_TEST_TOKEN", "X-Team": "chemistry"}
	for way, address := range map[string]string{"grpc": "grpc://" + f.serveGRPC(t, intercept), "http": f.serveHTTP(t)} {
		d := open(t, plain, Options{Endpoints: []string{address}, Headers: headers}, usual)
		batchOf(t, d, 2, 4)
		if _, err := d.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		if _, err := Open(t.Context(), plain, Options{Endpoints: []string{address}}); err == nil || !strings.Contains(err.Error(), "who are you?") || !strings.Contains(err.Error(), "runtime.headers") {
			t.Errorf("%s: error %v, expected the server's words and runtime.headers", way, err)
		}
	}
	for want, h := range map[string]map[string]string{
		"the environment has no OPENINFERENCE_TEST_NONE": {"A": "$OPENINFERENCE_TEST_NONE"},
		"runtime.headers.grpc-timeout":                   {"grpc-timeout": "1"},
		"runtime.headers.a b":                            {"a b": "1"},
		"such as an end of line":                         {"A": "1\r\nB: 2"},
	} {
		if _, err := Open(t.Context(), plain, Options{Endpoints: []string{"grpc://localhost:1"}, Headers: h}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
}

// TestEndpoints: addresses that nobody can ask are refused before anything is sent.
func TestEndpoints(t *testing.T) {
	for address, want := range map[string]string{"gpu1:8001": "expected grpc://host:port", "grpc://gpu1": "expected grpc://host:port", "grpc://gpu1:8001/v2": "gRPC has no path, expected grpc://gpu1:8001",
		"ftp://gpu1:21": `scheme "ftp" is unknown`} {
		if _, err := Open(t.Context(), plain, Options{Endpoints: []string{address}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, expected %q", address, err, want)
		}
	}
	if _, err := Open(t.Context(), plain, Options{}); err == nil || !strings.Contains(err.Error(), "runtime.endpoints") {
		t.Errorf("error %v, expected one that names runtime.endpoints", err)
	}
	if _, err := Open(t.Context(), plain, Options{Endpoints: []string{"grpc://a:1", "grpc://a:1"}}); err == nil || !strings.Contains(err.Error(), "named twice") {
		t.Errorf("error %v, expected that it is named twice", err)
	}
}

package supervise

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// certificateVar is go-plugin's variable for the certificate that a plugin accepts calls from; a plugin that finds it answers with
// one of its own in the handshake.
const certificateVar = "PLUGIN_CLIENT_CERT"

// certify makes a certificate for one plugin process, valid for a year, and returns it as the host's side of the connection and as
// the PEM text for the plugin. go-plugin's own are of curve P-521, which gRPC in Python and C++ refuses; this one is of P-256.
func certify() (*tls.Config, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, "", err
	}
	const host = "localhost" // the name that both sides of go-plugin ask for
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host, Organization: []string{"mdmhost"}}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert, // of samplers that call back; go-plugin fills in whom to trust
		ClientCAs:    x509.NewCertPool(),
		RootCAs:      x509.NewCertPool(),
		MinVersion:   tls.VersionTLS13,
		ServerName:   host,
	}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}

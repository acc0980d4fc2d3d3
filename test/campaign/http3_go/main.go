// SPDX-License-Identifier: Apache-2.0

// A client by quic-go for http3_interop.py: gets URLs over HTTP/3, and prints the SHA-256 of each body.
//
//	http3_go [-v2] [-resume] [-early] [-migrate ADDRESS] [-times N] URL ...
//
// -times: each URL so often, at once. -resume: over a second connection, with the session of a first one; -early: its requests go as early
// data. -migrate: half of the requests from another local address. The end tells "resumed", "early" where it was so.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

var (
	useV2   = flag.Bool("v2", false, "")
	resume  = flag.Bool("resume", false, "")
	early   = flag.Bool("early", false, "")
	migrate = flag.String("migrate", "", "")
	times   = flag.Int("times", 1, "")
)

func get(ctx context.Context, conn http.RoundTripper, method, target string) (*http.Response, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return nil, "", err
	}
	response, err := conn.RoundTrip(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	sum := sha256.New()
	if _, err = io.Copy(sum, response.Body); err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return response, fmt.Sprintf("%x", sum.Sum(nil)), err
}

func dial(ctx context.Context, from *quic.Transport, to string, conf *tls.Config) (*quic.Conn, error) {
	address, err := net.ResolveUDPAddr("udp", to+":443")
	if err != nil {
		return nil, err
	}
	settings := &quic.Config{MaxIdleTimeout: 30 * time.Second, HandshakeIdleTimeout: 30 * time.Second}
	if *useV2 {
		settings.Versions = []quic.Version{quic.Version2}
	}
	if *early {
		return from.DialEarly(ctx, address, conf, settings)
	}
	return from.Dial(ctx, address, conf, settings)
}

func transport(address string) *quic.Transport {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(address)})
	if err != nil {
		log.Fatal(err)
	}
	return &quic.Transport{Conn: conn}
}

func moved(ctx context.Context, conn *quic.Conn) {
	path, err := conn.AddPath(transport(*migrate))
	if err == nil {
		err = path.Probe(ctx)
	}
	if err == nil {
		err = path.Switch()
	}
	if err != nil {
		log.Fatal("migration: ", err)
	}
	fmt.Println("migrated")
}

func all(ctx context.Context, conn *quic.Conn, method string) {
	client := (&http3.Transport{}).NewClientConn(conn)
	var done sync.WaitGroup
	for round := 0; round < *times; round++ {
		for _, target := range flag.Args() {
			done.Add(1)
			go func() {
				defer done.Done()
				response, sum, err := get(ctx, client, method, target)
				if err != nil {
					log.Fatal(target, ": ", err)
				}
				fmt.Println("body", sum)
				if response.TLS != nil && response.TLS.DidResume {
					fmt.Println("resumed")
				}
			}()
		}
	}
	if *migrate != "" {
		moved(ctx, conn)
		for _, target := range flag.Args() {
			_, sum, err := get(ctx, client, method, target)
			if err != nil {
				log.Fatal("after the migration: ", err)
			}
			fmt.Println("body", sum)
		}
	}
	done.Wait()
	if conn.ConnectionState().Used0RTT {
		fmt.Println("early")
	}
}

func main() {
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	where, err := url.Parse(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	conf := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}, ServerName: "localhost", ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	connections := 1
	if *resume || *early {
		connections = 2
	}
	for i := 0; i < connections; i++ {
		conn, err := dial(ctx, transport(""), where.Host, conf)
		if err != nil {
			log.Fatal("handshake: ", err)
		}
		method := http.MethodGet
		if *early && i > 0 {
			method = http3.MethodGet0RTT
		}
		all(ctx, conn, method)
		time.Sleep(300 * time.Millisecond) // the ticket may come behind the answers
		conn.CloseWithError(0x100, "")
	}
}

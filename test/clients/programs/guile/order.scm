(use-modules (web client) (web request) (web response) (web uri) (ice-9 binary-ports))
(define uri (string->uri (string-append (getenv "BASE_URL") "/create_order")))
(define body "{\"order_amount\": 10.10, \"order_currency\": \"EUR\"}")
(define header (string->symbol (string-downcase (getenv "HEADER"))))
(define port #f)
(define (post number)
  (unless (and port (not (port-closed? port))) (set! port (open-socket-for-uri uri)))
  (call-with-values
      (lambda ()
        (http-post uri #:body body #:port port #:keep-alive? #t
                   #:headers `((content-type . (application/json)) (,header . ,(format #f "order-~a" number)))))
    (lambda (answer text)
      (when (memq 'close (response-connection answer)) (close-port port))
      (response-code answer))))
(do ((number 1 (1+ number))) ((> number (string->number (getenv "COUNT"))))
  (catch #t
    (lambda () (format #t "~a\n" (post number)))
    (lambda error
      (when port (close-port port))
      (format #t "no answer\n")
      (format (current-error-port) "~a\n" error)))
  (force-output))

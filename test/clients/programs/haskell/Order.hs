{-# LANGUAGE OverloadedStrings #-}

import Control.Exception (SomeException, try)
import Control.Monad (forM_)
import qualified Data.ByteString.Char8 as Bytes
import qualified Data.CaseInsensitive as CI
import Network.HTTP.Client
import Network.HTTP.Types.Status (statusCode)
import System.Environment (getEnv)
import System.IO (hPrint, stderr)

main :: IO ()
main = do
  base <- getEnv "BASE_URL"
  count <- read <$> getEnv "COUNT"
  header <- CI.mk . Bytes.pack <$> getEnv "HEADER"
  isSet <- (/= "") <$> getEnv "SET"
  let settings = defaultManagerSettings
  manager <- newManager (if isSet then settings {managerRetryableException = const False} else settings)
  plain <- parseRequest ("POST " ++ base ++ "/create_order")
  let body = RequestBodyBS "{\"order_amount\": 10.10, \"order_currency\": \"EUR\"}"
      request = (if isSet then plain {redirectCount = 0} else plain) {requestBody = body}
  forM_ [1 .. count :: Int] $ \number -> do
    let headers = [("Content-Type", "application/json"), (header, Bytes.pack ("order-" ++ show number))]
    answer <- try (httpLbs request {requestHeaders = headers} manager)
    case answer of
      Right done -> print (statusCode (responseStatus done))
      Left error -> putStrLn "no answer" >> hPrint stderr (error :: SomeException)

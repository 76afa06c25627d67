import asyncio
import sys
import aiohttp
from order import headers, is_set, order, url


async def main():
    options = dict(allow_redirects=False) if is_set else {}
    async with aiohttp.ClientSession(trust_env=True) as session:
        for header in headers():
            try:
                async with session.post(url, json=order, headers=header, **options) as answer:
                    await answer.read()
                    print(answer.status)
            except aiohttp.ClientError as error:
                print("no answer")
                print(repr(error), file=sys.stderr)


asyncio.run(main())

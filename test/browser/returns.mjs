/** Many tabs of one browser, and a server that was started anew. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { runPage, until } from './steps.mjs'

export async function returns(all) {
  await manyTabs(all)
  await newToken(all)
  return 'eight tabs of a browser open, one that comes back to sight goes on, and a new token is taken'
}

/** A browser has six connections to a server. Here all tabs count as seen, so that each is told when it is not. */
async function manyTabs({ browser, url }) {
  const context = await browser.newContext()
  await context.addInitScript(() => {
    let isHidden = false
    Object.defineProperty(document, 'hidden', { get: () => isHidden })
    addEventListener('test-seen', ({ detail }) => {
      isHidden = !detail
      document.dispatchEvent(new Event('visibilitychange'))
    })
  })
  const see = (tab, isSeen) =>
    tab.evaluate(detail => void dispatchEvent(new CustomEvent('test-seen', { detail })), isSeen)
  const step = async tab => Number(/step (\d+)/.exec(await tab.textContent('header'))?.[1])
  const first = await context.newPage()
  await first.goto(url)
  await first.waitForSelector('table a')
  await first.goto(`${new URL(url).origin}/${runPage('live', 'curves')}`)
  await until('a step', () => step(first))
  await see(first, false)
  for (let n = 0; n < 7; n++) {
    const tab = await context.newPage()
    await tab.goto(`${new URL(url).origin}/${runPage('live', 'curves')}`, { timeout: 20_000 })
    await tab.waitForSelector('.uplot canvas', { timeout: 20_000 })
    await see(tab, false)
  }
  const before = await step(first)
  await see(first, true)
  await until('the first tab goes on', async () => (await step(first)) > before)
  await context.close()
}

/** The page says that it has to sign in, and takes a token in the address without a reload, which then leaves the address. */
async function newToken({ browser, runs, start }) {
  const serve = async port => {
    const server = start(['dashboard', runs, '--port', port])
    const url = await until('an address', () => /http:\S+#token=\S+/.exec(server.printed)?.[0])
    return { server, url }
  }
  const old = await serve('0')
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(old.url)
  await page.waitForSelector('table a')
  old.server.kill('SIGKILL')
  await once(old.server, 'exit')
  await page.getByText('The dashboard does not answer').waitFor()
  const next = await serve(new URL(old.url).port)
  await page.getByLabel('token').waitFor({ timeout: 20_000 })
  await page.evaluate(to => {
    location.href = to
  }, next.url)
  await page.waitForSelector('table a', { timeout: 10_000 })
  assert.ok(!page.url().includes('token'), 'the token left the address')
  await context.close()
  next.server.kill('SIGKILL')
}

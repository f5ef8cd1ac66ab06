/** Pages of other sites, in a browser that is signed in: they can neither read nor act, also where a name was made to point here. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

/** What a page of another site tries. Each gives what it could read. */
const attack = `<!doctype html><meta charset="utf-8"><title>another site</title><body><script>
const target = new URLSearchParams(location.search).get('target')
const tries = {
  read: () => fetch(target + '/api/runs', { credentials: 'include' }).then(answer => answer.text()),
  opaque: () => fetch(target + '/api/runs', { credentials: 'include', mode: 'no-cors' }).then(answer => answer.text()),
  act: () => fetch(target + '/api/runs/live/acts', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '{"act":"stop"}' }).then(answer => answer.text()),
  plain: () => fetch(target + '/api/runs/live/acts', { method: 'POST', credentials: 'include', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{"act":"stop"}' }).then(answer => answer.text()),
  events: () => new Promise((resolve, reject) => { const source = new EventSource(target + '/api/events', { withCredentials: true }); source.onmessage = ({ data }) => resolve(data); source.onerror = () => { source.close(); reject(new Error('refused')) } }),
  script: () => new Promise((resolve, reject) => { const tag = document.createElement('script'); tag.src = target + '/page.js'; tag.onload = () => resolve('loaded'); tag.onerror = () => reject(new Error('refused')); document.body.append(tag) }),
  frame: () => new Promise((resolve, reject) => { const frame = document.createElement('iframe'); frame.src = target + '/'; frame.onload = () => { try { resolve(frame.contentDocument.body.textContent) } catch (error) { reject(error) } }; document.body.append(frame) }),
  form: () => new Promise(resolve => { const frame = document.createElement('iframe'); frame.name = 'sink'; const form = document.createElement('form'); form.method = 'post'; form.enctype = 'text/plain'; form.target = 'sink'; form.action = target + '/api/runs/live/acts'; const input = document.createElement('input'); input.name = '{"act":"stop","x":"'; input.value = '"}'; form.append(input); document.body.append(frame, form); form.submit(); setTimeout(() => resolve(''), 500) }),
}
const found = {}
Promise.all(Object.entries(tries).map(([name, attempt]) => attempt().then(text => { found[name] = text }, error => { found[name] = '' }))).then(() => { document.title = 'done ' + JSON.stringify(found) })
</script>`

export async function otherSites({ browser, url, runs }) {
  const { origin, port } = new URL(url)
  const journal = join(runs, 'live/journal/acts.jsonl')
  const acts = () => (existsSync(journal) ? readFileSync(journal, 'utf8') : '')
  const before = acts()
  const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end(attack))
  await new Promise(resolve => site.listen(0, '127.0.0.1', resolve))
  try {
    const context = await browser.newContext()
    const own = await context.newPage()
    await own.goto(url)
    await own.waitForSelector('table a')
    assert.equal(
      (await context.cookies()).filter(({ httpOnly, sameSite }) => httpOnly && sameSite === 'Strict').length,
      1,
    )
    assert.ok(!own.url().includes('token'), 'the token left the address')
    const told = []
    // Another port, another name for this machine, and a name that somebody made to point here.
    for (const from of [
      `http://127.0.0.1:${site.address().port}`,
      `http://localhost:${site.address().port}`,
      `http://evil.test:${site.address().port}`,
    ])
      for (const target of [origin, `http://evil.test:${port}`]) {
        const page = await context.newPage()
        await page.goto(`${from}/?target=${encodeURIComponent(target)}`)
        await page.waitForFunction(() => document.title.startsWith('done'))
        const found = JSON.parse((await page.title()).slice('done '.length))
        // A body of the refusal is no secret; what runs are called would be.
        for (const [name, text] of Object.entries(found))
          assert.ok(!/live|running|"runs"|loaded|act/.test(text), `${name} of ${from} at ${target} read ${text}`)
        told.push(...Object.keys(found))
        await page.close()
      }
    // Rebinding: the page itself comes from the name that points here, so that it is of the same origin as what it asks.
    const page = await context.newPage()
    const answer = await page.goto(`http://evil.test:${port}/`)
    assert.equal(answer.status(), 403)
    const asked = await page.evaluate(async () => (await fetch('/api/runs')).status)
    assert.equal(asked, 403)
    await context.close()
    assert.equal(acts(), before, 'no act came from another site')
    return `${told.length} tries of other sites and a rebound name read nothing and did nothing`
  } finally {
    site.close()
  }
}

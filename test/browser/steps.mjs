/** What the browser does, step by step. Each says what it saw, and throws where something is not as promised. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { hostile } from './hostile.mjs'

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const pages = ['curves', 'stages', 'samples', 'groups', 'distributions', 'alerts', 'act', 'chat', 'config']

/** A page that fails on dialogs, errors, and requests to anywhere but its own server. */
export async function openPage({ browser, url }, { colorScheme = 'light', width = 1280, height = 800 } = {}) {
  // axe is a script of the test, which the policy of the page would refuse; requests of the page are still watched.
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, bypassCSP: true })
  return await watched(context, url)
}

export async function watched(context, url) {
  const page = await context.newPage()
  const wrong = []
  page.on('dialog', dialog => {
    wrong.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', error => wrong.push(`error: ${error.message}`))
  page.on('console', message => message.type() === 'error' && wrong.push(`console: ${message.text()}`))
  const { origin, protocol } = new URL(url)
  page.on('request', request => {
    const asked = new URL(request.url())
    const isOwn = protocol === 'file:' ? asked.protocol === 'file:' : asked.origin === origin
    if (!isOwn && asked.protocol !== 'data:') wrong.push(`request: ${request.url()}`)
  })
  await page.goto(url)
  await page.waitForSelector('main')
  const go = async hash => {
    await page.evaluate(to => {
      location.hash = to
    }, hash)
    await page.waitForSelector('main')
  }
  const isFine = () => assert.deepEqual(wrong, [])
  return { page, go, isFine, close: () => context.close() }
}

export const runPage = (run, page, query = '') => `#/run/${encodeURIComponent(run)}/${page}${query}`

/** Waits until a question about the world is answered with something. */
export async function until(what, question) {
  for (let tries = 0; tries < 1200; tries++) {
    const answer = await question()
    if (answer) return answer
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`waited two minutes, and still not: ${what}`)
}

export async function accessible(page, name) {
  await page.addScriptTag({ path: axe })
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  for (const { id, nodes } of violations)
    barriers.push(`${name}: ${id}: ${nodes.map(({ html, any }) => `${html} ${any[0]?.message ?? ''}`).slice(0, 3)}`)
}

/** All that axe found, told together at the end of a step. */
const barriers = []
export const isAccessible = () => assert.deepEqual(barriers.splice(0), [], 'accessibility')

/** Every page in both themes and at phone width, while the run goes on. */
export async function walk(all) {
  const desk = await openPage(all)
  await desk.page.waitForSelector('table a')
  await accessible(desk.page, 'runs')
  await shoot(desk.page, all, 'runs')
  await byKeyboard(desk)
  const stepOf = async () => Number(/step (\d+)/.exec(await desk.page.textContent('header'))?.[1])
  await desk.go(runPage('live', 'curves'))
  await desk.page.waitForSelector('.uplot canvas')
  const first = await until('a step', stepOf)
  await until('a later step, without a reload', async () => (await stepOf()) > first)
  for (const name of pages) {
    await desk.go(runPage('live', name))
    await desk.page.waitForSelector(`nav [aria-current=page][href*=${name}]`)
    await ready(desk.page, name)
    await accessible(desk.page, name)
    await shoot(desk.page, all, name)
  }
  await desk.go('#/compare/live/first')
  await desk.page.waitForSelector('.legend')
  await shoot(desk.page, all, 'compare')
  desk.isFine()
  await desk.close()
  const phone = await openPage(all, { colorScheme: 'dark', width: 390 })
  for (const name of pages) {
    await phone.go(runPage('live', name))
    await ready(phone.page, name)
    const over = await phone.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(over <= 0, `${name} is ${over} pixels wider than a phone`)
    await accessible(phone.page, `${name}, dark, at phone width`)
    if (name === 'curves') await shoot(phone.page, all, 'phone')
  }
  phone.isFine()
  isAccessible()
  await phone.close()
  return `${pages.length + 1} pages, live from step ${first}, accessible in both themes, no wider than a phone`
}

/** By keyboard alone: from the top of the page to a run and its charts. */
async function byKeyboard({ page }) {
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '')
  const tabTo = async text => {
    for (let presses = 0; presses < 80; presses++) {
      if ((await focused()) === text) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`"${text}" is not reached by the keyboard`)
  }
  await page.evaluate(() => document.body.focus())
  await tabTo('live')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.uplot canvas')
}

/** The answers of the page are there. */
async function ready(page, name) {
  const shown = {
    ...{
      curves: '.uplot canvas',
      stages: '.stage-bar',
      samples: 'td.text',
      groups: '.sample',
      distributions: 'canvas',
    },
    ...{ alerts: '.card', act: 'h2', chat: 'select', config: 'table' },
  }
  await page.waitForSelector(shown[name])
}

export async function shoot(page, { images }, name) {
  if (!images) return
  await page.waitForTimeout(1500)
  await page.screenshot({ path: join(images, `dashboard-${name}.png`) })
}

/** Acts through the page, and their effect in the files of the run. */
export async function acts(all) {
  const directory = join(all.runs, 'live')
  const journalled = () => {
    const path = join(directory, 'journal/acts.jsonl')
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }
  const { page, go, isFine, close } = await openPage(all)
  const press = name => page.getByRole('button', { name, exact: true }).click()
  await go(runPage('live', 'act'))
  await press('Pause')
  await page.waitForSelector('.badge:text-is("paused")')
  // The line of the last iteration may be on its way to the disk.
  await page.waitForTimeout(1000)
  const logged = statSync(join(directory, 'logs/metrics.jsonl')).size
  await page.waitForTimeout(2000)
  assert.equal(statSync(join(directory, 'logs/metrics.jsonl')).size, logged, 'a paused run logs nothing')
  await page.getByLabel('temperature', { exact: true }).fill('0.7')
  await press('Set temperature')
  await until('the temperature in the journal', () => /"temperature".*0\.7/.test(journalled()))
  await press('Resume')
  await until('the run goes on', () => statSync(join(directory, 'logs/metrics.jsonl')).size > logged)
  const before = new Set(readdirSync(join(directory, 'checkpoints')))
  await press('Checkpoint now')
  await until('a checkpoint', () => readdirSync(join(directory, 'checkpoints')).some(name => !before.has(name)))

  await go(runPage('live', 'samples', '?where=iteration%3C3&sort=reward'))
  await page.locator('td.text a').first().click()
  await page.getByLabel('note').fill('<b>read this</b>')
  await press('Flag as good')
  await until(
    'the flag',
    () =>
      existsSync(join(directory, 'flags.jsonl')) &&
      readFileSync(join(directory, 'flags.jsonl'), 'utf8').includes('read this'),
  )
  await page.getByRole('button', { name: 'tokens', exact: true }).click()
  await page.waitForSelector('.token')
  await page.locator('.tokens').focus()
  await page.keyboard.press('ArrowRight')
  await page.waitForSelector('.token-numbers code')
  await accessible(page, 'tokens')
  await page.locator('.tokens').scrollIntoViewIfNeeded()
  await shoot(page, all, 'tokens')
  await press('Drop this prompt')
  await until('the dropped prompt in the journal', () => journalled().includes('drop-prompt'))
  await press('Score those of the filter (at most 200)')
  await page.getByText(/Mean reward .* before/).waitFor()

  await go(runPage('live', 'groups', '?iteration=1'))
  const group = page.locator('section.card:has(.columns)').first()
  await group.getByRole('checkbox').nth(0).check()
  await group.getByRole('checkbox').nth(1).check()
  await page.getByRole('button', { name: 'This one is better' }).first().click()
  await page.getByText(/The run has 1 pair now/).waitFor()

  await go(runPage('live', 'chat'))
  await page.getByLabel('message to both').fill('1 + 1 = ?')
  await press('Send')
  await until('two answers', async () => (await page.locator('.turn.assistant').count()) === 2)
  await until('the end of both', async () => await page.getByRole('button', { name: 'Stop', exact: true }).isDisabled())
  assert.equal(await page.locator('main .error').count(), 0, await page.textContent('main'))
  await shoot(page, all, 'chat')
  const other = page.locator('section[aria-label="Right model"] select')
  const checkpoint = await other
    .locator('option', { hasText: /^checkpoint of step/ })
    .first()
    .getAttribute('value')
  await other.selectOption(checkpoint)
  await page.getByLabel('message to both').fill('2 + 2 = ?')
  await press('Send')
  await until('an answer of a checkpoint', async () => (await page.locator('.turn.assistant').count()) === 3)
  await until('the end of both', async () => await page.getByRole('button', { name: 'Stop', exact: true }).isDisabled())
  assert.equal(await page.locator('main .error').count(), 0, await page.textContent('main'))

  await go(runPage('live', 'act'))
  await shoot(page, all, 'act')
  await press('Stop after this step')
  await until('the run ends', () => all.live.exitCode !== null)
  await page.waitForSelector('header .badge:text-is("stopped, can be resumed")')
  isFine()
  isAccessible()
  await close()
  return 'pause, temperature, resume, checkpoint, flag, drop, score again, preference, chat and stop are in the files of the run'
}

/** Every hostile text is on the page as text, and nothing of it ran. The strict policy of the page holds here. */
export async function hostileTexts(all) {
  all.makeHostile(all)
  const { browser, url, name } = all
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const { page, go, isFine } = await watched(context, url)
  await page.getByRole('link', { name, exact: true }).waitFor()
  let seen = ''
  for (let offset = 0; offset < 2 * hostile.length; offset += 50) {
    await go(runPage(name, 'samples', `?sort=promptLength&offset=${offset}`))
    await page.waitForSelector(`nav >> text=page ${offset / 50 + 1} of`)
    await until('rows', async () => (await page.locator('section[aria-busy=false] td.text').count()) > 0)
    seen += await page.textContent('table')
  }
  for (let offset = 0; offset < hostile.length; offset += 20) {
    await go(runPage(name, 'groups', `?sort=order&offset=${offset}`))
    await page.waitForSelector('.sample')
  }
  for (let n = 0; n < 20; n++) {
    await go(runPage(name, 'samples', `?offset=${50 * (n % 10)}`))
    await page.locator('td.text a').nth(n).click()
    await page.getByRole('button', { name: n % 2 ? 'tokens' : 'conversation', exact: true }).click()
    await page.waitForSelector(n % 2 ? '.token' : '.turn')
  }
  const squeezed = text => text.replace(/\s+/g, ' ').trim()
  const shown = squeezed(seen)
  const missing = hostile.filter(text => !shown.includes(squeezed(text).slice(0, 60)))
  assert.deepEqual(missing, [])
  await page.waitForTimeout(500)
  isFine()
  await context.close()
  return `${hostile.length} texts are shown as text; no dialog, no request`
}

/** A hundred thousand points: how long until the chart is drawn, and a zoom. */
export async function longCurves(all) {
  const { Run } = await import('#whetstone/run')
  const identity = {
    command: 'rl',
    config: { algorithm: 'grpo', iterations: 100_000 },
    origins: {},
    fingerprints: {},
    versions: {},
  }
  const run = await Run.create(join(all.runs, 'long'), identity)
  for (let step = 1; step <= 100_000; step++)
    run.metrics(step, { 'reward/mean': Math.sin(step / 9000), 'kl/mean': step / 1e6 })
  await run.close('finished')
  const { page, go, isFine, close } = await openPage(all)
  await page.getByRole('link', { name: 'long', exact: true }).waitFor()
  let started = performance.now()
  await go(runPage('long', 'curves'))
  await page.waitForSelector('[aria-label="reward/mean"] [aria-label*="last"]')
  const drawn = performance.now() - started
  started = performance.now()
  await go(runPage('long', 'curves', '?from=50000&to=51000'))
  await until('the detail', async () => (await page.getByText('points, as means').count()) === 0)
  const zoomed = performance.now() - started
  isFine()
  await close()
  return `100,000 points drawn after ${Math.round(drawn)} ms, zoomed after ${Math.round(zoomed)} ms`
}

/** One file, opened without any server. */
export async function openReport({ browser, folder, runs, name, binary }) {
  const told = []
  for (const run of ['live', name]) {
    const file = join(folder, `report-${told.length}.html`)
    const made = spawnSync(process.execPath, [binary, 'report', join(runs, run), '--out', file], { encoding: 'utf8' })
    assert.equal(made.status, 0, made.stderr)
    const context = await browser.newContext({ offline: true })
    const { page, go, isFine } = await watched(context, pathToFileURL(file).href)
    await page.waitForSelector('.uplot canvas')
    for (const part of pages.filter(one => one !== 'chat')) {
      await go(runPage(run, part))
      await ready(page, part)
    }
    await go(runPage(run, 'samples'))
    await page.locator('td.text a').first().click()
    await page.waitForSelector('.turn')
    isFine()
    await context.close()
    told.push(made.stdout.trim().replace(/^.*: /, ''))
  }
  return `two reports open offline (${told.join('; ')})`
}

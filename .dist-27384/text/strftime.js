const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
/**
 * Python's `strftime` in the C locale, as far as chat templates use it. Our own because names must be English on every
 * machine: a prompt that depends on the user's language setting is a different prompt. An unknown directive is an error.
 */
export function strftime(date, format) {
    const two = (n) => String(n).padStart(2, '0');
    const hour12 = date.getHours() % 12 || 12;
    const directives = {
        '%Y': () => String(date.getFullYear()),
        '%y': () => two(date.getFullYear() % 100),
        '%m': () => two(date.getMonth() + 1),
        '%-m': () => String(date.getMonth() + 1),
        '%B': () => MONTHS[date.getMonth()],
        '%b': () => MONTHS[date.getMonth()].slice(0, 3),
        '%d': () => two(date.getDate()),
        '%-d': () => String(date.getDate()),
        '%e': () => String(date.getDate()).padStart(2, ' '),
        '%j': () => String(dayOfYear(date)).padStart(3, '0'),
        '%A': () => DAYS[date.getDay()],
        '%a': () => DAYS[date.getDay()].slice(0, 3),
        '%H': () => two(date.getHours()),
        '%I': () => two(hour12),
        '%M': () => two(date.getMinutes()),
        '%S': () => two(date.getSeconds()),
        '%p': () => (date.getHours() < 12 ? 'AM' : 'PM'),
        '%%': () => '%',
    };
    return format.replace(/%-?./gs, directive => {
        const write = directives[directive];
        if (!write)
            throw new Error(`strftime_now: unknown directive ${directive} in "${format}"`);
        return write();
    });
}
function dayOfYear(date) {
    const start = Date.UTC(date.getFullYear(), 0, 1);
    return Math.round((Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - start) / 86_400_000) + 1;
}
//# sourceMappingURL=strftime.js.map
/** `make`, called once for each key, however often it is asked; keys are the same where their JSON is. */
export declare function memoized<K, V>(make: (key: K) => V): (key: K) => V;

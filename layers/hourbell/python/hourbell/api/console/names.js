// What the vendored libraries bring.

const { Fragment, cloneElement, createContext, h, render } = preact;
const { useContext, useEffect, useLayoutEffect, useRef, useState } = preactHooks;
